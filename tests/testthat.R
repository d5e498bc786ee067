library(testthat)
library(anvil)

test_check("anvil")
