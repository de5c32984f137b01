import { readFile } from 'node:fs/promises';

/** What the page is made of: nothing else is ever read from the disk. */
const FILES = new Map([
  ['/', { name: 'index.html', type: 'text/html; charset=utf-8' }],
  ['/page.css', { name: 'page.css', type: 'text/css; charset=utf-8' }],
  ['/page.js', { name: 'page.js', type: 'text/javascript; charset=utf-8' }],
  ['/icon.svg', { name: 'icon.svg', type: 'image/svg+xml' }],
]);

export interface PageFile {
  readonly type: string;
  readonly content: Buffer;
}

/** The file that is shown at a path, if there is one; read anew, so that an edit shows on the next load. */
export async function readPageFile(path: string): Promise<PageFile | undefined> {
  const file = FILES.get(path);
  return file && { type: file.type, content: await readFile(new URL(file.name, import.meta.url)) };
}
