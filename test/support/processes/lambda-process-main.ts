import path from 'node:path';
import { pathToFileURL } from 'node:url';

// The program of `startLambda`: loads a handler from the working directory, as Lambda's runtime does, and calls it.
const [file = '', name = ''] = (process.env._HANDLER ?? '').split('.');
const module = await import(pathToFileURL(path.resolve(`${file}.mjs`)).href).catch((error: unknown) => {
  // In Lambda's words: Node's own output would begin with the whole line of the bundle.
  process.send?.(JSON.stringify({ id: 0, failure: String(error) }), () => process.exit(1));
  return new Promise(() => {});
});

process.on('message', async (message) => {
  const { id, event, timeoutMs } = JSON.parse(String(message));
  const end = performance.now() + timeoutMs;
  const context = { awsRequestId: `${id}`, getRemainingTimeInMillis: () => end - performance.now() };
  try {
    process.send?.(JSON.stringify({ id, result: await module[name](event, context) }));
  } catch (error) {
    process.send?.(JSON.stringify({ id, failure: String(error) }));
  }
});
process.on('disconnect', () => process.exit());
process.send?.(JSON.stringify({ id: 0 }));
