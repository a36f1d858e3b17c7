export {
  ConfigVersions,
  ToldFindings,
  compileVersioned,
  type VersionedResources,
} from './versioned-location.ts';
export { effectiveConfig } from './effective-config.ts';
