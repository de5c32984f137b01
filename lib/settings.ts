import { z } from 'zod';
import type { BrokerSettings } from '../functions/environment.ts';
import { accessRuleFaults } from './access-rule-faults.ts';
import { accessRuleSchema } from './access-rule-schema.ts';
import { alarmSchema } from './alarm-schema.ts';
import { callerAccountFaults } from './caller-accounts.ts';
import { healthSchema, rateSeconds } from './health-schema.ts';
import { operationFaults, operationMembers } from './operation-schema.ts';
import { listOf, nameFault, recordOf, text } from './schema.ts';
import { serviceSchema } from './service-schema.ts';
import { check, type Fault, SettingsError } from './settings-error.ts';

/** The settings of one environment, checked and with every default filled in. */
export interface Environment extends z.output<typeof environmentSchema> {
  readonly name: string;
}

/** What an operator writes for one environment; whatever has a default may be left out. */
export type EnvironmentForm = z.input<typeof environmentSchema>;

/** Reads the settings of one environment; throws a `SettingsError` that names every wrong place. */
export function parseEnvironment(name: string, input: unknown): Environment {
  const { environment, faults } = readEnvironment(name, input);
  if (environment === undefined) throw new SettingsError(faults);
  return environment;
}

/** Reads the settings of all environments; throws one `SettingsError` for all of them. */
export function parseEnvironments(inputs: Readonly<Record<string, unknown>>): readonly Environment[] {
  const readings = Object.entries(inputs).map(([name, input]) => readEnvironment(name, input));
  const faults = readings.flatMap((reading) => reading.faults);
  if (faults.length > 0) throw new SettingsError(faults);
  return readings.flatMap(({ environment }) => environment ?? []);
}

/** The part of an environment that runs. */
export function toBrokerSettings({ services, accessRules, health }: BrokerMembers): BrokerSettings {
  // A token that is older than the time between two checks has proven nothing since the last one.
  return { services, accessRules, provenForSeconds: rateSeconds(health.every) };
}

type BrokerMembers = z.output<z.ZodObject<ReturnType<typeof brokerMembers>>>;

/** The members that an environment and a local configuration have in common. */
export function brokerMembers(options: { readonly allowLoopback: boolean }) {
  return {
    services: recordOf(nameFault, serviceSchema(options)).refine((services) => Object.keys(services).length > 0, {
      error: 'must have at least one service',
    }),
    accessRules: z.array(accessRuleSchema),
    health: healthSchema.prefault({}),
  };
}

/** The number of an AWS account. A string, because numbers lose their leading zeros. */
export const accountSchema = text((id) => (/^\d{12}$/.test(id) ? undefined : 'must be 12 digits in quotes'));

/** The name of an AWS region. */
export const regionSchema = text((name) =>
  /^[a-z]{2}(-[a-z]+){1,2}-\d{1,2}$/.test(name) ? undefined : 'must be an AWS region such as eu-west-1',
);

/** Everything that an environment can have; `parseEnvironment` also checks how it fits together. */
export const environmentSchema = z.strictObject({
  account: accountSchema,
  region: regionSchema,
  ...brokerMembers({ allowLoopback: false }),
  alarms: alarmSchema.prefault({}),
  ...operationMembers(),
  // The accounts, beside its own, whose credentials may deploy the environment.
  deployFrom: listOf(accountSchema).default([]),
});

function readEnvironment(name: string, input: unknown): Reading {
  const { data, faults } = check(environmentSchema, input);
  const all = [
    ...environmentNameFaults(name),
    ...faults,
    ...accessRuleFaults(input),
    ...operationFaults(input),
    ...(data === undefined ? [] : callerAccountFaults({ name, ...data })),
  ];
  return all.length === 0 && data !== undefined
    ? { environment: { name, ...data }, faults: [] }
    : {
        environment: undefined,
        faults: all.map((fault) => ({ ...fault, path: ['environments', name, ...fault.path] })),
      };
}

interface Reading {
  readonly environment: Environment | undefined;
  readonly faults: readonly Fault[];
}

/** The name becomes part of the names of secrets, the functions and the stack. */
function environmentNameFaults(name: string): Fault[] {
  const reason = environmentNameFault(name);
  return reason === undefined ? [] : [{ path: [], reason }];
}

function environmentNameFault(name: string): string | undefined {
  if (name.length > 20 || !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    return 'must be called by at most 20 lower-case letters, digits and hyphens, starting with a letter';
  }
  // Its token function would have the name that another environment's health function has.
  return name.startsWith('health-') ? 'must not be called health-…' : undefined;
}
