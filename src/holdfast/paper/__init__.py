"""The paper, on top of simulation and report: settings → games → tables → ledger → pages."""
