start
verify refs/heads/feature/x 
prepare
