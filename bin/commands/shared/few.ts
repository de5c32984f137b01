/** Works on all items, a few at a time, and gives the results in the items' order; after a failure it begins nothing more. */
export async function mapFew<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  onDone: (done: number, total: number) => void = () => undefined,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = [...items.entries()];
  let done = 0;
  const workOn = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, item] = next;
      results[index] = await work(item);
      done += 1;
      onDone(done, items.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_A_TIME }, workOn));
  } finally {
    waiting.splice(0);
  }
  return results;
}

/** As many as the scheduled check has under way. */
const AT_A_TIME = 5;
