import { renameSync, writeFileSync } from 'node:fs';
import { json } from 'node:stream/consumers';
import { synthesiseApp } from './synthesise-app.ts';

/** Synthesises what standard input orders, and writes the outcome into the file that is named. */
const { name, form, bundled } = (await json(process.stdin)) as { name: string; form: unknown; bundled: boolean };
const [, , file = ''] = process.argv;
// Two tests may order the same at once: each writes a whole file, and the last one stays.
writeFileSync(`${file}.${process.pid}`, JSON.stringify(outcome()));
renameSync(`${file}.${process.pid}`, file);

function outcome() {
  try {
    return synthesiseApp(name, form, { bundled });
  } catch (error) {
    return { failure: error instanceof Error ? error.message : 'no error' };
  }
}
