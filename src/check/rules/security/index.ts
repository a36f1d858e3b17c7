import type { Rule } from '../../rule.ts';
import { httpSplitting } from './http-splitting.ts';
import { headerMultiline } from './header-multiline.ts';
import { originRegex } from './origin-regex.ts';
import { aliasTraversal } from './alias-traversal.ts';
import { rootExposure } from './root-exposure.ts';
import { headerRedefinition } from './header-redefinition.ts';
import { headerContentType } from './header-content-type.ts';
import { allowWithoutDeny } from './allow-without-deny.ts';
import { returnBypassesAcl } from './return-bypasses-acl.ts';
import { aclOrder } from './acl-order.ts';
import { satisfyAnyOpen } from './satisfy-any-open.ts';
import { versionDisclosure } from './version-disclosure.ts';
import { validReferersNone } from './valid-referers-none.ts';
import { corsStarCredentials } from './cors-star-credentials.ts';
import { statusExposed } from './status-exposed.ts';
import { dotfilesServed } from './dotfiles-served.ts';
import { autoindexOn } from './autoindex-on.ts';
import { internalLeak } from './internal-leak.ts';
import { authPlainHttp } from './auth-plain-http.ts';
import { secretInClear } from './secret-in-clear.ts';
import { configWorldReadable } from './config-world-readable.ts';
import { realipAny } from './realip-any.ts';
import { limitKeyForgeable } from './limit-key-forgeable.ts';
import { bodySizeUnset } from './body-size-unset.ts';
import { cidrHostBits } from './cidr-host-bits.ts';
import { nginxCvePattern } from './nginx-cve-pattern.ts';
import { frontProxyEngine } from './front-proxy-engine.ts';

/** Holes: GW3xx. */
export const SECURITY_RULES: readonly Rule[] = [
  httpSplitting,
  headerMultiline,
  originRegex,
  aliasTraversal,
  rootExposure,
  headerRedefinition,
  headerContentType,
  allowWithoutDeny,
  returnBypassesAcl,
  aclOrder,
  satisfyAnyOpen,
  versionDisclosure,
  validReferersNone,
  corsStarCredentials,
  statusExposed,
  dotfilesServed,
  autoindexOn,
  internalLeak,
  authPlainHttp,
  secretInClear,
  configWorldReadable,
  realipAny,
  limitKeyForgeable,
  bodySizeUnset,
  cidrHostBits,
  nginxCvePattern,
  frontProxyEngine,
];
