import type { BlockView } from '../../config/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../contract/index.ts';
import { type AuthApiKeyConfig, isRequired } from './directives.ts';

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

const SOURCES = ['auth_api_key_file', 'auth_api_key_dict', 'auth_api_key_redis'] as const;

const apiKeyNotRequired: ModuleRule<AuthApiKeyConfig> = {
  id: 'GW984',
  slug: 'api-key-not-required',
  severity: 'warning',
  summary: 'API keys that no location requires',
  why: 'Without "auth_api_key", the directives that name the keys have no effect: requests need no key.',
  fix: 'Add "auth_api_key" with the name of the protected area; "auth_api_key off" says that a location is open on purpose.',
  bad: { in: 'location', text: 'auth_api_key_file keys;\nproxy_pass http://127.0.0.1:9000;', files: KEYS },
  good: {
    in: 'location',
    text: 'auth_api_key "api";\nauth_api_key_file keys;\nproxy_pass http://127.0.0.1:9000;',
    files: KEYS,
  },
  *check(config): Iterable<Problem> {
    for (const block of config.blocksWith(...SOURCES)) {
      const [first] = block.own(...SOURCES);
      if (!first || saysWho(block, config)) continue;
      yield {
        at: first,
        message: `"${first.name.value}" without "auth_api_key" has no effect: no key is required`,
        hint: 'add "auth_api_key" with a name, such as auth_api_key "api";',
      };
    }
  },
};

/** True if a key is required in a block or within it, or "off" says that none is. */
function saysWho(block: BlockView, config: CheckedModule<AuthApiKeyConfig>): boolean {
  const { protection } = config.configIn(block);
  return protection !== undefined || block.inner.some((inner) => requires(inner, config));
}

function requires(block: BlockView, config: CheckedModule<AuthApiKeyConfig>): boolean {
  return isRequired(config.configIn(block)) || block.inner.some((inner) => requires(inner, config));
}

/** The rules about API keys. */
export const rules: readonly ModuleRule<AuthApiKeyConfig>[] = [apiKeyInUrl, apiKeyNotRequired];
