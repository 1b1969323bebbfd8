defmodule A.B do
  def c, do: 1
end
