import { moduleFor } from '../../contract/index.ts';
import { readParsed, WatchedFiles } from '../../system/index.ts';
import { type ApiKeyFiles, compileAccess, compileIdentify, keyAttribute, keyId } from './check.ts';
import { type AuthApiKeyConfig, directives, isRequired } from './directives.ts';
import { parseKeyLines } from './key-lines.ts';

export { isKeyId } from './key-lines.ts';

const FORM = { parse: parseKeyLines, what: 'API keys', mostBytes: 4_194_304 };

/** Access by API keys, of which only hashes are stored. */
export const authApiKey = moduleFor<AuthApiKeyConfig>()<ApiKeyFiles>({
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
  strangers: () => 'denied',
  validate({ files = [] }, report) {
    if (files.length === 0)
      report.on('protection', 'accepts no key', 'name the keys: auth_api_key_file keys;');
    for (const [index, path] of files.entries()) {
      const content = readParsed(path, FORM);
      if ('fault' in content) report.phrase('files', content.fault, { index });
    }
  },
  provision(_config, worker) {
    const files = worker.share(
      'auth_api_key',
      () => new WatchedFiles({ ...FORM, tell: (fault) => worker.log.write('error', fault) }),
      () => undefined,
    );
    // A reload reads changed files at once.
    files.expire();
    return files;
  },
  compile: (config, files, build) => ({
    identify: compileIdentify(config, files, build),
    access: compileAccess(config, files, build),
  }),
  rules: () => import('./rules.ts'),
  explanation: { runs: true },
});
