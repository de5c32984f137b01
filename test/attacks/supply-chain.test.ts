import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

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

const lock = read('package-lock.json');
const manifest = read('package.json');
const packages: readonly (readonly [path: string, locked: LockedPackage])[] = Object.entries<LockedPackage>(
  lock.packages,
).filter(([path]) => path !== '');

describe('the lock file', () => {
  it('has the SHA-512 of every package, of other platforms too', () => {
    expect(packages.length).toBeGreaterThan(300);
    // What a package brings along inside itself is part of that package's own hash.
    const without = packages.filter(([, { integrity = '', inBundle = false }]) => !inBundle && !isSha512(integrity));
    expect(without).toEqual([]);
  });

  it('takes everything from the registry that the installing machine has configured', () => {
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(JSON.stringify(lock)).not.toMatch(/git[+:]|https?:\/\/[^"]*\.tgz|"file:/);
  });

  it('is for exactly the versions that package.json names', () => {
    const named = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
    const locked = Object.fromEntries(packages.map(([path, { version }]) => [path, version]));
    for (const [name, version] of Object.entries(named))
      expect([name, locked[`node_modules/${name}`]]).toEqual([name, version]);
  });
});

describe('an installation', () => {
  it('needs the install script of no package', () => {
    const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(scripted.map(([path]) => path.split('node_modules/').at(-1)).sort()).toEqual(
      Object.keys(INSTALL_SCRIPTS).sort(),
    );
  });

  it('is made without install scripts by CI, so that no package can start to need one', () => {
    expect(readFileSync('.ci/run', 'utf8')).toMatch(/^npm ci --ignore-scripts$/m);
  });
});

describe('what may end up in a function', () => {
  const production = packages.filter(([, { dev, optional }]) => dev !== true && optional !== true);

  it.each(production)('%s has a licence that is approved', (_, { license }) => {
    expect(LICENSES).toContain(license);
  });

  it('is listed with its hash, beside the tools, by npm run sbom', async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], { maxBuffer: 1e8 });
    const { bomFormat, components } = JSON.parse(stdout);
    expect(bomFormat).toBe('CycloneDX');
    const listed = new Map(components.map(({ name, version, hashes }: Component) => [`${name}@${version}`, hashes]));
    for (const [path, { version, integrity = '' }] of production) {
      const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
      const name = path.split('node_modules/').at(-1);
      expect([name, listed.get(`${name}@${version}`)]).toEqual([name, [{ alg: 'SHA-512', content }]]);
    }
  });
});

interface Component {
  readonly name: string;
  readonly version: string;
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
}

function read(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function isSha512(integrity: string): boolean {
  return /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity);
}
