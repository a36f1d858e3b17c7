import type { ModuleRule, Problem } from '../../contract/index.ts';
import type { AuthApiKeyConfig } from './directives.ts';

const KEYS = { keys: `ann:${'0'.repeat(64)}\n` };

const apiKeyInUrl: ModuleRule<AuthApiKeyConfig> = {
  id: 'GW975',
  slug: 'api-key-in-url',
  severity: 'warning',
  summary: 'an API key that is part of the URL',
  why: 'URLs are kept in logs of proxies, in histories of browsers and in "Referer" headers, where others find the key. It opens the API until it is revoked.',
  fix: 'Let clients send the key in the header "X-API-Key", and leave "arg=" out.',
  bad: { in: 'location', text: 'auth_api_key "api" arg=key;\nauth_api_key_file keys;', files: KEYS },
  good: { in: 'location', text: 'auth_api_key "api";\nauth_api_key_file keys;', files: KEYS },
  *check(config): Iterable<Problem> {
    for (const { node } of config.uses('auth_api_key')) {
      const word = node.args.slice(1).find(({ value }) => value.startsWith('arg='));
      if (word)
        yield { at: word.span, message: `"${word.value}" takes the key from the URL, which logs keep` };
    }
  },
};

/** The rules about API keys. */
export const rules: readonly ModuleRule<AuthApiKeyConfig>[] = [apiKeyInUrl];
