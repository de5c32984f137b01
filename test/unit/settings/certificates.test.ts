import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { endOfCertificates } from '../../../lib/settings/certificates.ts';
import { parseLocalConfig } from '../../../lib/settings/local-config.ts';
import { createCertificateAuthority } from '../../support/services/certificates.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { changed, faultsIn } from './example-form.ts';

const FORM = {
  services: {
    'customer-insights': { authUrl: 'https://auth.example.com', certificateAuthorities: ['ca/insights.pem'] },
  },
  accessRules: [],
  callers: [{ role: 'arn:aws:iam::111111111111:role/me', accessKeyId: 'AKIDME', secretAccessKey: 'my-key' }],
  credentials: {},
};

let [one, two] = ['', ''];
let key = '';
beforeAll(async () => {
  const authority = await createCertificateAuthority();
  const issued = await authority.issue({ notBefore: new Date('2020-01-01'), notAfter: new Date('2021-05-06') });
  [one, two, key] = [authority.ca.trim(), issued.cert.trim(), issued.key];
});

describe('certificateAuthorities', () => {
  it('are read from files beside the settings: their certificates and nothing else', () => {
    const folder = folderWith(`Ours, since 2020\n${one}\n\n# and\n${two.replaceAll('\n', '\r\n')}\r\n`);
    const { services } = parseLocalConfig(FORM, folder);
    const certificates = services['customer-insights']?.certificateAuthorities;
    expect(certificates?.map((pem) => pem.replaceAll('\r', ''))).toEqual([one, two]);
    expect(endOfCertificates(folder, 'ca/insights.pem')).toEqual(new Date('2021-05-06'));
  });

  it.each<[what: string, path: string, text: () => string, fault: string]>([
    ['no text of a certificate', 'ca/insights.pem', () => 'ca', 'must contain a certificate in PEM'],
    ['a broken one', 'ca/insights.pem', () => one.replace('MII', 'AAA'), 'must contain certificates in PEM'],
    ['a private key', 'ca/insights.pem', () => key, 'contains a private key: it must contain only certificates'],
    ['no file', 'other-ca/other.pem', () => one, 'does not exist: paths are relative to the folder of the settings'],
    ['a file elsewhere', '../ca.pem', () => one, 'must be the path of a file next to the settings'],
    ['a path with white space', 'ca/in sights.pem', () => one, 'must be the path of a file next to the settings'],
    ['a folder', 'ca', () => one, 'must be a file'],
    ['a device, through a link', 'ca/null.pem', () => one, 'must be a file'],
    ['a pipe without a writer', 'ca/pipe.pem', () => one, 'must be a file'],
  ])('are not %s', (_, path, text, fault) => {
    const form = changed(FORM, 'services/customer-insights/certificateAuthorities', [path]);
    const faults = faultsIn(() => parseLocalConfig(form, folderWith(text())));
    expect(faults).toEqual([`services.customer-insights.certificateAuthorities[0]: ${fault}`]);
  });
});

function folderWith(text: string): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'ca'));
  symlinkSync('/dev/null', join(folder, 'ca/null.pem'));
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'ca/pipe.pem')]);
  writeFileSync(join(folder, 'ca/insights.pem'), text);
  return folder;
}
