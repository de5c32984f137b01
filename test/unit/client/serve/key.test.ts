import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeKey } from '../../../../client/serve/key.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

describe('the file of a key that is made', () => {
  it('can be read by its owner alone, and holds another key each time', async () => {
    const folder = temporaryFolder();
    const { key, file } = await makeKey(join(folder, 'key'));
    expect(readFileSync(file, 'utf8')).toBe(key);
    expect(key).toMatch(/^[\w-]{43}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await makeKey(file)).key).not.toBe(key);
  });

  it('is in a folder that its owner alone can enter when no place is named, and goes with it', async () => {
    const { file, remove } = await makeKey(undefined);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    await remove();
    expect(() => statSync(dirname(file))).toThrow('ENOENT');
  });

  it('takes the place of a file or a link of another program, which it does not write into', async () => {
    const folder = temporaryFolder();
    const [other, link] = [join(folder, 'other'), join(folder, 'key')];
    writeFileSync(other, 'kept', { mode: 0o666 });
    symlinkSync(other, link);
    const { key } = await makeKey(link);
    expect([readFileSync(other, 'utf8'), readFileSync(link, 'utf8')]).toEqual(['kept', key]);
    expect(statSync(link).mode & 0o777).toBe(0o600);
  });

  it('is not written through a link that another program has laid where it is written first', async () => {
    const folder = temporaryFolder();
    const other = join(folder, 'other');
    writeFileSync(other, 'kept');
    symlinkSync(other, join(folder, `key.${process.pid}`));
    await expect(makeKey(join(folder, 'key'))).rejects.toThrow('EEXIST');
    expect(readFileSync(other, 'utf8')).toBe('kept');
  });

  it('stays when another server has put its key there', async () => {
    const file = join(temporaryFolder(), 'key');
    const first = await makeKey(file);
    const second = await makeKey(file);
    await first.remove();
    expect(readFileSync(file, 'utf8')).toBe(second.key);
    await second.remove();
    expect(() => statSync(file)).toThrow('ENOENT');
  });
});
