import { moduleFor } from '../../contract/index.ts';
import {
  compileAccess,
  compileEntering,
  compileIdentify,
  explainAccess,
  keyAttribute,
  keyId,
} from './check.ts';
import { type AuthApiKeyConfig, directives, isRequired } from './directives.ts';
import { fileFault, KeySources } from './key-sources.ts';

export { isKeyId } from './key-lines.ts';

/** Access by API keys, of which only hashes are stored. */
export const authApiKey = moduleFor<AuthApiKeyConfig>()<KeySources>({
  name: 'auth_api_key',
  summary: 'Access by API keys.',
  directives,
  variables: {
    api_key_id: { summary: 'The id of the API key that was accepted.', compile: () => keyId },
  },
  families: {
    api_key_: { summary: 'An attribute of the API key that was accepted.', compile: keyAttribute },
  },
  enabled: isRequired,
  credentials: ({ protection }) => ({
    headers: protection ? [protection.header] : [],
    arguments: protection?.arg === undefined ? [] : [protection.arg],
  }),
  strangers: () => 'denied',
  validate({ files = [], dictionary, redis }, report) {
    if (files.length === 0 && dictionary === undefined && !redis)
      report.on('protection', 'accepts no key', 'name the keys: auth_api_key_file keys;');
    for (const [index, path] of files.entries()) {
      const fault = fileFault(path);
      if (fault !== undefined) report.phrase('files', fault, { index });
    }
  },
  uses: ({ dictionary }) =>
    dictionary === undefined ? [] : [{ kind: 'dictionary', name: dictionary, field: 'dictionary' }],
  provision: (config, worker) => new KeySources(config, worker, { isRunning: true }),
  compile: (config, sources, build) => {
    const entering = compileEntering(config);
    return {
      ...(entering && { entering }),
      identify: compileIdentify(config, sources, build),
      access: compileAccess(config, sources, build),
    };
  },
  rules: () => import('./rules.ts'),
  explanation: {
    runs: true,
    provision: (config, scope) => new KeySources(config, scope, { isRunning: false }),
    explain: () => ({ access: explainAccess }),
  },
});
