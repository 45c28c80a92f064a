/**
 * Replaces a method of the class that an object has, for all its objects.
 *
 * @param around - gets the former method, to call it or not
 */
export function replaceMethod(
  owner: object,
  name: string,
  around: (call: () => unknown, args: unknown[], self: object) => unknown,
): void {
  const prototype = Object.getPrototypeOf(owner) as Record<string, (...args: unknown[]) => unknown>;
  const method = prototype[name];
  if (!method) throw new Error(`there is no method ${name}`);
  prototype[name] = function (this: object, ...args: unknown[]) {
    return around(() => method.apply(this, args), args, this);
  };
}
