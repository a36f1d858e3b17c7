import { directivesFor, privateFile, readers } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import { atMost, CryptWorker, type PasswordLibraries, Verifier } from './password/verifier.ts';
import { type AuthBasicConfig, compileCheck, isOff, UserFiles } from './check.ts';
import { computeCrypt } from './password/crypt.ts';

export { hashPassword, PASSWORD_SCHEMES, type PasswordScheme } from './password/hash.ts';

/** The thread pool also reads files, which must not wait for many password checks. */
const MAX_IN_POOL = 2;

const CONTEXTS = ['http', 'server', 'location', 'limit_except'] as const;

const directives = directivesFor<AuthBasicConfig>()({
  auth_basic: {
    contexts: CONTEXTS,
    args: { ...readers.value, syntax: 'realm | off' },
    into: 'realm',
    defaultText: 'off',
    summary: 'Requires user name and password; the text names the protected area.',
    source: 'nginx ngx_http_auth_basic_module#auth_basic',
  },
  auth_basic_user_file: {
    contexts: CONTEXTS,
    args: readers.oneWord('file', (word, scope) => ({
      path: scope.complexValue(word),
      directory: scope.confDir,
    })),
    into: 'userFile',
    summary:
      'Names and passwords, one pair per line, relative to the directory of the configuration file. Stored as bcrypt, SHA-crypt, MD5-crypt (`$apr1$`, `$1$`), `{SHA}`, `{SSHA}` or `{PLAIN}`, as `gw hash-password` writes them; the 13 characters of DES crypt let nobody in. Passwords of more than 512 bytes are wrong; where more than 64 of a worker wait to be checked, further ones get 503.',
    roles: privateFile('password hashes'),
    source: 'nginx ngx_http_auth_basic_module#auth_basic_user_file',
  },
});

/** The resources that the locations of a worker share. */
interface Shared {
  readonly verifier: Verifier;
  readonly files: UserFiles;
  readonly close: () => void;
}

function openShared(bcrypt: PasswordLibraries['bcrypt']): Shared {
  const thread = new CryptWorker();
  const crypt = atMost(1, (password: Buffer, stored: string) => thread.compute({ password, stored }));
  return { verifier: new Verifier({ bcrypt, crypt }), files: new UserFiles(), close: () => thread.close() };
}

/** Opens the libraries for an explanation, without a thread. */
async function openForOne(): Promise<Shared> {
  const [{ verify }, { encrypt }] = await Promise.all([import('@node-rs/bcrypt'), import('unixcrypt')]);
  const crypt = (password: Buffer, stored: string): Promise<string | undefined> =>
    Promise.resolve(computeCrypt(password, stored, encrypt));
  return {
    verifier: new Verifier({ bcrypt: verify, crypt }),
    files: new UserFiles(),
    close: () => undefined,
  };
}

/** Access by user name and password (RFC 7617; nginx ngx_http_auth_basic_module). */
export const authBasic = moduleFor<AuthBasicConfig>()<Shared>({
  name: 'auth_basic',
  summary: 'Access by name and password.',
  directives,
  enabled: ({ realm, userFile }) => realm !== undefined && userFile !== undefined && !isOff(realm),
  strangers: () => 'denied',
  async provision(_config, worker) {
    const { verify } = await import('@node-rs/bcrypt');
    return worker.share(
      'auth_basic',
      () => openShared(atMost(MAX_IN_POOL, verify)),
      ({ close }) => close(),
    );
  },
  compile: (config, shared, build) => ({ access: compileCheck(config, shared, build) }),
  explanation: { provision: openForOne },
});
