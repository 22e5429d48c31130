"""Users' data: loss tables and logs from arrays, data frames and files, with errors that name line and column."""
