/**
 * Rejects an argument without its names, or with unknown members: the error is about the call, not about the engine.
 *
 * @param members the members that the argument may have, with spaces between them
 * @param example the call as it should be
 * @throws TypeError
 */
export function assertArgument(given: unknown, members: string, example: string): void {
  const known = members.split(' ');
  const isName = (value: unknown) => typeof value === 'string' && value !== '';
  const missing = ['client', 'service'].find((name) => known.includes(name) && !isName(Object(given)[name]));
  const entries = Object.entries(Object(given));
  const unknown = entries.find(([name, value]) => value !== undefined && !known.includes(name))?.[0];
  if (missing) throw new TypeError(`${missing} is missing or is not a name. Call ${example}`);
  if (unknown) throw new TypeError(`${unknown} is not one of its members: ${known.join(', ')}. Call ${example}`);
}
