import { ask, isMissing } from '../../../client/commands/reach.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { ok, type Step, unknown } from '../../../client/commands/step.ts';

/**
 * Tries both documented paths of a token endpoint with a POST that carries nothing, above all no credential: the one that
 * exists answers neither 404 nor 405.
 */
export async function tryTokenPaths(authUrl: string, shell: Shell): Promise<Step> {
  const answers: { readonly path: string; readonly word: string; readonly isThere: boolean }[] = [];
  for (const path of DOCUMENTED_PATHS) {
    const answer = await ask(new URL(`${authUrl.replace(/\/$/, '')}${path}`), 'POST', shell.signal);
    const word = 'code' in answer ? `gives no answer (${answer.code})` : `answers ${answer.status}`;
    answers.push({ path, word, isThere: !('code' in answer || isMissing(answer.status)) });
  }
  const detail = answers.map(({ path, word }) => `${path} ${word}`).join(', ');
  const [there, ...others] = answers.filter(({ isThere }) => isThere);
  if (there === undefined || others.length > 0) {
    return unknown('token-path', `${detail}: this does not tell which is right`);
  }
  return { ...ok('token-path', `${detail}: set tokenPath to ${there.path}`), tokenPath: there.path };
}

/** The two that the services' specification names, in prose and in its examples. */
const DOCUMENTED_PATHS = ['/auth/v1/token', '/oauth/token'];
