import x from "y";
@Component({ selector: "a" })
export class Foo<T> implements Bar {
  @Input() a: string;
  constructor(private x: X) {}
  @HostListener("x") go(): void {}
  abstract z(): void;
}
export interface I { a: string }
export type T = { a: 1 };
export enum E { A, B }
export namespace N { export function f() {} }
declare module "m" { function g(): void; }
abstract class Q { abstract a(): void; }
export const useX = () => { return 1; };
export default function App() { return null; }
declare function df(): void;
function over(a: string): void;
function over(a: any) {}
