import { z } from 'zod';
import type { BrokerSettings } from '../../functions/variables.ts';
import { roleArnFault } from '../../functions/vocabulary.ts';
import { accessRuleFaults } from './access-rules.ts';
import { check, like, listOf, nameFault, recordOf, SettingsError, text } from './schema.ts';
import { brokerMembers, environmentSchema, toBrokerSettings } from './settings.ts';

/** The configuration of `npm start -- --config FILE`. */
export interface LocalConfig extends BrokerSettings {
  readonly callers: readonly LocalCaller[];
  /** The content of each client's secret. */
  readonly credentials: Readonly<Record<string, z.output<typeof credentialSchema>>>;
}

/** A role that may sign requests to the broker on this machine, and its access key. */
export interface LocalCaller {
  readonly role: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Parses a local configuration whose files are in the folder. A `SettingsError` lists every fault but no secret. */
export function parseLocalConfig(input: unknown, folder = '.'): LocalConfig {
  const { data, faults } = check(localConfigSchema(folder), input);
  const all = [...faults, ...accessRuleFaults(input)];
  if (data === undefined || all.length > 0) throw new SettingsError(all);
  const { services, health, callers, credentials } = data;
  // AWS assigns the ids of roles, so a role on this machine has no id.
  const accessRules = data.accessRules.map(({ roleId: _, ...rule }) => rule);
  return { ...toBrokerSettings({ services, accessRules, health, folder }), callers, credentials };
}

const callerSchema = z.strictObject({
  role: text(roleArnFault),
  accessKeyId: like(/^\w{1,128}$/, 'must be letters, digits and _'),
  secretAccessKey: like(/^[!-~]+$/, 'must be visible ASCII characters without spaces'),
});

/** The content of a secret: strings, and the services in `services`. A missing member is reported on use. */
const credentialSchema = z
  .object({
    services: z
      .union([z.literal('all'), z.array(z.string()), z.record(z.string(), z.record(z.string(), z.string()))], {
        error: "must be 'all', a list of names, or an object with a member for each service",
      })
      .optional(),
  })
  .catchall(z.string());

function localConfigSchema(folder: string) {
  const { account, region, principalOrgId } = environmentSchema(folder).shape;
  return z.strictObject({
    // Accepted, so that an environment's settings can be pasted, but ignored.
    account: account.optional(),
    region: region.optional(),
    principalOrgId,
    ...brokerMembers({ allowLoopback: true, folder }),
    callers: listOf(callerSchema, ({ accessKeyId }) => accessKeyId).min(1, { error: 'must not be empty' }),
    credentials: recordOf(nameFault, credentialSchema),
  });
}
