import 'x';

class A {
  void b() { print('}'); }
}

void main(List<String> a) {
  x();

  y();
}
