"""The `flatten` tool: a folder, a git repository or a site becomes one JSONL corpus. It only reads; what it leaves out
is counted by reason.
"""
