"""The product behind its functions.

Importing any of it switches off what libraries report by themselves. onnxruntime (1.29 and later) does so as soon as it
is imported: it makes up an id of the machine, keeps it in the home folder, and has a thread tell a server of each model
that is loaded. That thread does not survive a fork: the process that serves hung or aborted when it was ended.
"""

import os

for switch in ("DO_NOT_TRACK", "ORT_DISABLE_TELEMETRY"):
    os.environ[switch] = "1"
