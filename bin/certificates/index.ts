import { type Command, Option } from 'commander';
import type { Finish } from '../command-definition.ts';
import type { AcmeOptions, RecordOptions, RenewOptions, RevokeOptions } from './acme.ts';

/** The reasons of RFC 5280, 5.3.1 that an authority takes from those who have a certificate. */
const REASONS = ['unspecified', 'key-compromise', 'affiliation-changed', 'superseded', 'cessation'];

/** Adds the options that name a configuration. */
function configured(command: Command): Command {
  return command
    .option('-c, --config <file>', 'configuration of the gateway, which names the certificates')
    .option('-p, --prefix <directory>', 'directory that relative paths start from');
}

/** Adds the commands for certificates that gw orders itself. */
export function addCertificates(gw: Command, finish: Finish): void {
  const acme = gw.command('acme').description('certificates that gw orders and renews itself (ACME)');
  configured(acme.command('status'))
    .description(
      'list the certificates of a configuration: until when they are valid, the next order, the last fault',
    )
    .option('--json', 'as JSON, for programs')
    .action(async (options: AcmeOptions & { json?: boolean }) => {
      finish(await (await import('./acme.ts')).acmeStatus(options));
    });
  configured(acme.command('record'))
    .description('print the DNS records by which dns-persist-01 knows the account')
    .option(
      '--issuer-domain <name>',
      'how the authority is called in records (default: as its directory says)',
    )
    .action(async (options: RecordOptions) => {
      finish(await (await import('./acme.ts')).acmeRecords(options));
    });
  configured(acme.command('renew [id...]'))
    .description('have the running gateway order new certificates within seconds')
    .option('--all', 'all certificates of the configuration')
    .action(async (ids: readonly string[], options: RenewOptions) => {
      finish(await (await import('./acme.ts')).acmeRenew(ids, options));
    });
  configured(acme.command('revoke <id>'))
    .description('revoke a certificate at its authority, and have the running gateway order another one')
    .addOption(new Option('--reason <reason>', 'why').choices(REASONS).default('unspecified'))
    .action(async (id: string, options: RevokeOptions) => {
      finish(await (await import('./acme.ts')).acmeRevoke(id, options));
    });
}
