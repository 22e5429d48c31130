"""The median time of one ask + tell, next to a plain NumPy implementation in the same run."""

from holdfast.bench.online import main

if __name__ == "__main__":
    main()
