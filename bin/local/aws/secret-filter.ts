import type { StoredSecret } from './secret-store.ts';

/** What a list of secrets can be narrowed by; `!` before a value negates it. */
export interface SecretFilter {
  readonly Key: (typeof FILTER_KEYS)[number];
  readonly Values: readonly string[];
}

export const FILTER_KEYS = [
  'name',
  'description',
  'tag-key',
  'tag-value',
  'primary-region',
  'owning-service',
  'all',
] as const;

/** Whether a secret passes every filter; one of a filter's values is enough, but none of its negated ones may match. */
export function passes(secret: StoredSecret, filters: readonly SecretFilter[]): boolean {
  return filters.every(({ Key, Values }) => {
    const wanted = Values.filter((value) => !value.startsWith('!'));
    const unwanted = Values.filter((value) => value.startsWith('!')).map((value) => value.slice(1));
    const matches = (value: string) => MATCHERS[Key](secret, value);
    return (wanted.length === 0 || wanted.some(matches)) && !unwanted.some(matches);
  });
}

const MATCHERS: Record<SecretFilter['Key'], (secret: StoredSecret, value: string) => boolean> = {
  name: ({ name }, value) => name.startsWith(value),
  description: ({ description = '' }, value) => description.toLowerCase().startsWith(value.toLowerCase()),
  'tag-key': ({ tags }, value) => [...tags.keys()].some((key) => key.startsWith(value)),
  'tag-value': ({ tags }, value) => [...tags.values()].some((tag) => tag.startsWith(value)),
  // Nothing here is replicated or owned by another service.
  'primary-region': () => false,
  'owning-service': () => false,
  all: ({ name, description = '', tags }, value) => {
    const words = wordsOf([name, description, ...[...tags].flat()].join(' '));
    return wordsOf(value).every((wanted) => words.some((word) => word.startsWith(wanted)));
  },
};

function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}
