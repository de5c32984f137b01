import { z } from 'zod';
import { accessRuleSchema } from './access-rule-schema.ts';
import { parseRoleArn, type Role } from './role-arn.ts';
import { nameFault } from './schema.ts';
import type { Fault } from './settings-error.ts';

/** What is wrong between access rules, and with the services and roles they name. Whatever is wrong by itself is passed over. */
export function accessRuleFaults(settings: unknown): Fault[] {
  const { region, services, accessRules } = readable.parse(settings);
  const rules = accessRules.map(readRule);
  return [
    ...unknownServices(rules, Object.keys(services)),
    ...repeatedRules(rules),
    ...rolesThatDifferByPath(rules),
    ...foreignPartitions(rules, region),
  ];
}

/** What can be read of settings of which nothing is known. */
const readable = z
  .object({
    region: z.string().catch(''),
    services: z.record(z.string(), z.unknown()).catch({}),
    accessRules: z.array(z.unknown()).catch([]),
  })
  .catch({ region: '', services: {}, accessRules: [] });

const readableRule = z
  .object({ role: z.string().catch(''), services: z.array(z.unknown()).catch([]) })
  .catch({ role: '', services: [] });

interface ReadRule {
  readonly index: number;
  readonly arn: string;
  readonly role: Role | undefined;
  readonly services: readonly unknown[];
  /** `undefined` unless all of it is right. */
  readonly rule: z.output<typeof accessRuleSchema> | undefined;
}

function readRule(input: unknown, index: number): ReadRule {
  const { role: arn, services } = readableRule.parse(input);
  return { index, arn, role: parseRoleArn(arn), services, rule: accessRuleSchema.safeParse(input).data };
}

function unknownServices(rules: readonly ReadRule[], services: readonly string[]): Fault[] {
  if (services.length === 0) return [];
  const known = new Set<unknown>(services);
  const reason = `is not one of the services (${services.join(', ')})`;
  return rules.flatMap(({ index, services: named }) =>
    named.flatMap((service, place) => {
      const isName = typeof service === 'string' && nameFault(service) === undefined;
      return isName && !known.has(service) ? [{ path: at(index, 'services', place), reason }] : [];
    }),
  );
}

function repeatedRules(rules: readonly ReadRule[]): Fault[] {
  return laterOnes(rules, ({ rule }) => rule && ruleKey(rule)).map(({ index, first }) => ({
    path: at(index),
    reason: `says the same as accessRules[${first.index}]`,
  }));
}

function ruleKey({ role, clients, services, operations }: z.output<typeof accessRuleSchema>): string {
  const lists = [clients, services, operations].map((names) => (names === 'all' ? names : names.toSorted()));
  return JSON.stringify([role, ...lists]);
}

/** A caller arrives without its role's path, so the broker could not tell two such roles apart. */
function rolesThatDifferByPath(rules: readonly ReadRule[]): Fault[] {
  return laterOnes(rules, ({ role }) => role && JSON.stringify(role))
    .filter(({ arn, first }) => arn !== first.arn)
    .map(({ index, first }) => ({
      path: at(index, 'role'),
      reason: `differs only by its path from the role of accessRules[${first.index}], which the broker cannot see`,
    }));
}

/** A role signs for its own partition only, so a rule for another one would never let anybody in. */
function foreignPartitions(rules: readonly ReadRule[], region: string): Fault[] {
  if (region === '') return [];
  const partition = partitionOf(region);
  return rules
    .filter(({ role }) => role !== undefined && role.partition !== partition)
    .map(({ index }) => ({
      path: at(index, 'role'),
      reason: `must start with arn:${partition}: like the region's own`,
    }));
}

function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn';
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws';
}

/** The rules that have the key of an earlier one, each with the first that has it; a rule without a key is left out. */
function laterOnes(rules: readonly ReadRule[], keyOf: (rule: ReadRule) => string | undefined) {
  const keyed = rules.filter((rule) => keyOf(rule) !== undefined);
  return [...Map.groupBy(keyed, keyOf).values()].flatMap(([first, ...later]) =>
    first === undefined ? [] : later.map((one) => ({ ...one, first })),
  );
}

function at(index: number, ...path: PropertyKey[]): Fault['path'] {
  return ['accessRules', index, ...path];
}
