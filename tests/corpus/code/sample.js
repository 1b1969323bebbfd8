'use strict';
const fs = require("fs");
/** doc */
export async function foo(a) { return 1; }
export default class extends X { constructor() {} static async m() {} get p() { return 1 } field = () => {} }
const bar = async (x) => { return x; };
module.exports = function named() { };
exports.q = () => {};
app.get("/users", async (req, res) => {
  res.json([]);
  res.end();
});
export const C = { a() {}, b: 1 };
function* gen() {}
class K { a() {} }
export { foo };
