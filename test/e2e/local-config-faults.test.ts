import { describe, expect, it } from 'vitest';
import { runLocalBroker } from '../support/local-broker.ts';

const ME = { role: 'arn:aws:iam::222222222222:role/me', accessKeyId: 'AKIDME', secretAccessKey: 'marked-key' };

/** A configuration that is right but for its services. */
function config(services: unknown) {
  return {
    services,
    accessRules: [{ role: ME.role, clients: 'all', services: 'all' }],
    callers: [ME],
    credentials: { acme: { client_id: 'marked-id', secret: 'marked-secret' } },
  };
}

describe('npm start -- --config FILE, with a file that cannot be used', () => {
  const authUrl = 'https://auth.example.com';

  it.each<[string, unknown, string[]]>([
    [
      'http to somewhere else than this machine',
      config({ mine: { authUrl: 'http://auth.example.com' } }),
      ['services.mine.authUrl: must be an https URL (got http:)'],
    ],
    [
      'http to an address that only looks like this machine',
      config({ mine: { authUrl: 'http://127.0.0.1.example.com' } }),
      ['services.mine.authUrl: must be an https URL (got http:)'],
    ],
    [
      'several wrong places',
      {
        services: { mine: { authUrl, basicEncoding: 'base64', tokenUrl: '/x' } },
        accessRules: [{ role: 'marked-role', clients: ['*'], services: ['other'] }],
        callers: [{ ...ME, secretAccessKey: 'marked key' }],
        credentials: { acme: { client_id: 'marked-id', secret: 12 }, globex: 'marked-secret' },
      },
      [
        "services.mine.basicEncoding: must be 'raw' or 'form'",
        expect.stringMatching(/^services\.mine\.tokenUrl: is not a known member \(known: authUrl, tokenPath, /),
        expect.stringMatching(/^accessRules\[0\]\.role: must be the ARN of an IAM role/),
        expect.stringMatching(/^accessRules\[0\]\.clients\[0\]: must be 1 to 63 letters/),
        'callers[0].secretAccessKey: must be visible ASCII characters without spaces',
        'credentials.acme.secret: must be a string',
        'credentials.globex: must be an object',
        'accessRules[0].services[0]: is not one of the services (mine)',
      ],
    ],
    ['nothing in it', {}, expect.arrayContaining(['services: is missing', 'credentials: is missing'])],
  ])('names every wrong place and why: %s', async (_, configuration, faults) => {
    const { exitCode, stdout, stderr } = await runLocalBroker({ config: configuration });
    const [heading, ...lines] = stderr.trimEnd().split('\n');

    expect({ exitCode, stdout, heading }).toMatchObject({
      exitCode: 1,
      stdout: '',
      heading: expect.stringMatching(/^The settings are wrong in /),
    });
    expect(lines).toEqual(faults);
    expect(stderr).not.toContain('marked');
  });

  it.each([
    ['with the place where it breaks off', '{ "credentials":\n{ "acme": "marked", } }', ' (line 2 column 21)'],
    ['in one word', 'marked', ''],
    ['with nothing in it', '', ''],
  ])('says that it is not JSON, %s', async (_, text, place) => {
    expect(await runLocalBroker({ config: text })).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(`^\\S+/config\\.json is not valid JSON${place.replace(/[()]/g, '\\$&')}\n$`),
    });
  });

  it.each([
    ['is not there', '/nonexistent/config.json', 'ENOENT'],
    ['is a folder', '/', 'EISDIR'],
  ])('says that it cannot be read when it %s', async (_, file, reason) => {
    expect(await runLocalBroker({ args: ['--config', file] })).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: `cannot read ${file}: ${reason}\n`,
    });
  });
});
