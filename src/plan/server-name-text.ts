import type { ServerName } from '../contract/index.ts';

/** A server name as `server_name` writes it. */
export function serverNameText(name: ServerName): string {
  switch (name.kind) {
    case 'exact':
      return name.name;
    case 'leading wildcard':
      return `*${name.suffix}`;
    case 'trailing wildcard':
      return `${name.prefix}*`;
    case 'regex':
      return `~${name.regex.pattern}`;
  }
}
