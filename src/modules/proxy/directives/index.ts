import type { Rows } from '../../../config/index.ts';
import type { ProxyConfig } from '../config.ts';
import { answerDirectives } from './answers.ts';
import { cachingDirectives } from './caching.ts';
import { requestDirectives } from './requests.ts';
import { tlsDirectives } from './tls.ts';

/** nginx's proxy module. */
export const directives: Rows<ProxyConfig> = {
  ...requestDirectives,
  ...answerDirectives,
  ...tlsDirectives,
  ...cachingDirectives,
};

export { parseTarget } from './target.ts';
