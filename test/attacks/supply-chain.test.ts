import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Why each may have an install script although `npm ci --ignore-scripts` must be enough. */
const INSTALL_SCRIPTS = {
  esbuild: 'its binary is a package of its own; the script only checks it',
  'classic-level': 'its binaries are in the package; the script compiles where there is none',
};

const LICENSES = ['0BSD', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT'];

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const nameOf = (path: string) => path.split('node_modules/').at(-1) ?? '';
const lock = read('package-lock.json');
const packages = packagesOf(lock);
/** What `npm run mutate` installs for itself. */
const mutateLock = read('tools/mutate/package-lock.json');
const everyPackage = [...packages, ...packagesOf(mutateLock)];
const production = packages.filter(([, { dev, optional }]) => dev !== true && optional !== true);

function packagesOf(of: { readonly packages: Readonly<Record<string, LockedPackage>> }) {
  return Object.entries(of.packages).filter(([path]) => path !== '');
}

it('the lock files have the SHA-512 of every package, of other platforms too', () => {
  expect(packages.length).toBeGreaterThan(200);
  // A package's own hash covers the packages inside it.
  for (const [path, { integrity = '', inBundle = false }] of everyPackage) {
    if (!inBundle) expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-[A-Za-z0-9+/]{86}==$/)]);
  }
});

it('the lock files take everything from the registry that the installing machine has configured', () => {
  expect(everyPackage.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  expect(JSON.stringify([lock, mutateLock])).not.toMatch(/git[+:]|https?:\/\/[^"]*\.tgz|"file:/);
});

it('an installation runs no install script, with npm ci alone too', () => {
  const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  expect(scripted.map(([path]) => nameOf(path)).sort()).toEqual(Object.keys(INSTALL_SCRIPTS).sort());
  // npm 11 warns of a script that this does not name, and a later release skips it.
  const denied = Object.fromEntries(Object.keys(INSTALL_SCRIPTS).map((name) => [name, false]));
  expect(read('package.json').allowScripts).toEqual(denied);
  expect(readFileSync('.ci/run', 'utf8')).toMatch(/^npm ci --ignore-scripts$/m);
});

it('every package of a function has an approved licence, and npm run sbom lists it with its hash', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], { maxBuffer: 1e8 });
  const { bomFormat, components } = JSON.parse(stdout);
  expect(bomFormat).toBe('CycloneDX');
  for (const [path, { version, license, integrity = '' }] of production) {
    expect([path, LICENSES.includes(`${license}`)]).toEqual([path, true]);
    const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
    const listed = { name: nameOf(path), version, hashes: [{ alg: 'SHA-512', content }] };
    expect(components).toContainEqual(expect.objectContaining(listed));
  }
});
