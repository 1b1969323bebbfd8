"""Doc."""
import os
X = 1
TEXT = """
def fake(): pass
"""
@dec(
  1)
async def f(): pass
# c1
# c2
def g(): pass  # tail
class A(B):
    """doc"""
    x = 1
    @property
    def m(self): pass
    class Inner:
        def z(self): pass
if __name__ == "__main__":
    f()
