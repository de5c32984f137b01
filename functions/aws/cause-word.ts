/** An error's code or name and nothing else: messages and hidden members of an SDK's errors quote the answer. */
export function causeWord(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const word = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return /^\w{1,64}$/.test(word) ? word : 'unknown';
}
