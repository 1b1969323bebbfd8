sub hi {
  my $x = '}'; # }
  return 1;
}
