"""Opens the service for the clients on the host: on every address, with a token."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _guest import CREDENTIAL, SERVICE, TOKEN, Settings, prints, start  # noqa: E402
from mcp import equal, main  # noqa: E402

# As README says it to administrators.
SETTINGS = ("Environment=MCP_EXEC_ADDR=:8080", "IPAddressAllow=any")


def test_opens():
    os.makedirs(os.path.dirname(CREDENTIAL), mode=0o700, exist_ok=True)
    with open(CREDENTIAL, "w") as file:
        file.write(TOKEN)
    Settings(*SETTINGS).__enter__()
    start(SERVICE)
    equal(prints("print(2 + 2)", token=TOKEN), "4\n")


main()
