import { MODULE_NAMES } from '../src/lookups.ts';

/** Where nginx has other names for what a module of ours does. */
const NGINX_NAMES: Readonly<Record<string, readonly string[]>> = {
  sub_filter: ['sub'],
  static: ['static', 'gzip_static', 'random_index'],
};

function configureArguments(): string {
  const names = MODULE_NAMES.flatMap((name) => NGINX_NAMES[name] ?? [name]);
  return names.map((name) => `--with-http_${name}_module`).join(' ');
}

/** The lines of `-V` below the version: what gw runs on and what is in it. */
export function buildFacts(): string {
  const { node, v8, openssl } = process.versions;
  return `built with Node.js ${node} (V8 ${v8})
built with OpenSSL ${openssl}
TLS SNI support enabled
configure arguments: ${configureArguments()}
`;
}
