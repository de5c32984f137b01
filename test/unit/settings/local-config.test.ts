import { describe, expect, it } from 'vitest';
import { parseLocalConfig } from '../../../lib/settings/local-config.ts';
import { exampleRule, exampleService } from '../../support/example.ts';
import { changed, exampleForm, faultsIn } from './example-form.ts';

const ROLE = 'arn:aws:iam::111111111111:role/billing';
const CALLER = { role: ROLE, accessKeyId: 'AKIDTEST', secretAccessKey: 'not-secret' };
/** In every form that Secrets Manager may hold. */
const credentials = {
  acme: { client_id: 'id-of-acme', secret: 'secret-of-acme' },
  globex: { username: 'a', password: 'b', services: ['customer-insights'] },
  initech: { services: { 'customer-insights': { client_id: 'c', client_secret: 'd' } } },
};

function exampleConfig() {
  const { services, accessRules } = exampleForm();
  return { services, accessRules, callers: [CALLER], credentials };
}

describe('a local configuration', () => {
  it('needs services, access rules, callers and credentials', () => {
    expect(parseLocalConfig(exampleConfig())).toEqual({
      services: { 'customer-insights': exampleService(), 'merchant-payment-cleansing': exampleService() },
      accessRules: [exampleRule()],
      provenForSeconds: 3_600,
      callers: [CALLER],
      credentials,
    });
  });

  it('may be the settings of an environment with callers and credentials added', () => {
    const health = { every: 'rate(2 hours)', notify: ['ops@example.com'] };
    const services = { 'customer-insights': { authUrl: 'http://localhost:8080' } };
    const config = parseLocalConfig({ ...exampleForm(), health, ...exampleConfig(), services });
    expect(Object.keys(config)).toEqual(['services', 'accessRules', 'provenForSeconds', 'callers', 'credentials']);
    expect(config.provenForSeconds).toBe(7_200);
  });

  it('has neither the organization nor the ids of roles, which no role here has', () => {
    const pinned = changed(exampleConfig(), 'accessRules/0/roleId', 'AROAEXAMPLEEXAMPLE12');
    const config = parseLocalConfig(changed(pinned, 'principalOrgId', 'o-exampleorg'));
    expect(JSON.stringify(config)).not.toMatch(/AROAEXAMPLE|o-exampleorg/);
  });

  it.each<[path: string, value: unknown, fault: string]>([
    ['callers', undefined, 'callers: is missing'],
    ['callers', [], 'callers: must not be empty'],
    ['callers/0/role', 'billing', 'callers[0].role: must be the ARN of an IAM role'],
    ['callers/0/accessKeyId', 'AKID/TEST', 'callers[0].accessKeyId: must be letters, digits and _'],
    ['callers/0/secretAccessKey', 'my secret', 'callers[0].secretAccessKey: must be visible ASCII characters'],
    ['credentials/acme/services/x/secret', 12, 'credentials.acme.services.x.secret: must be a string'],
    ['credentials/acme/services', 'some', "credentials.acme.services: must be 'all', a list of names, or an object"],
    ['canary', {}, 'canary: is not a known member'],
  ])('is refused with %s = %j', (path, value, fault) => {
    const faults = faultsIn(() => parseLocalConfig(changed(exampleConfig(), path, value)));
    expect(faults).toEqual([expect.stringContaining(fault)]);
  });

  it('is refused without quoting any value of it', () => {
    const marked = {
      services: {
        'customer-insights': { authUrl: 'https://user:MARK@auth.example.com', headers: { 'x-key': ' MARK' } },
      },
      accessRules: [{ role: 'MARK', clients: 'MARK', services: ['MARK'], operations: ['MARK'] }],
      callers: [{ role: 'MARK*', accessKeyId: 'MARK/', secretAccessKey: 'MARK ' }],
      credentials: { acme: { secret: ['MARK'] }, globex: 'MARK', initech: { services: { x: 'MARK' } } },
    };
    const faults = faultsIn(() => parseLocalConfig(marked));
    expect(faults).toHaveLength(11);
    expect(faults.join()).not.toContain('MARK');
  });
});
