require 'x'
# doc
module A
  class B < C
    attr_reader :x
    # m
    def go(a)
      1
    end
    def self.k; end
    class << self
      def z; end
    end
  end
end
def top
end
describe "x" do
  it "y" do
    1
  end
end
