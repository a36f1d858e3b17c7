import { constantText } from '../config/index.ts';
import type { Build, CoreConfig } from '../contract/index.ts';
import type { AnswerRules } from '../http/index.ts';

/** What answers of a location say about the gateway (`server_tokens`). */
export function serverTokens(
  { serverTokens: tokens }: Pick<CoreConfig, 'serverTokens'>,
  version: string,
  build: Build,
): Pick<AnswerRules, 'serverToken' | 'serverTokenOf'> {
  if (tokens === 'off') return { serverToken: 'gw' };
  if (typeof tokens === 'string') return { serverToken: `gw/${version}` };
  const fixed = constantText(tokens);
  return fixed === undefined
    ? { serverToken: 'gw', serverTokenOf: build.value(tokens) }
    : { serverToken: fixed };
}
