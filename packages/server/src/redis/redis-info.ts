/** A field of what the command INFO reports; undefined where the server does not report it. */
export const infoField = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];

/** By the section `replication`: whether the server is the replica of another one and takes no writes. */
export const isReadOnlyReplica = (replication: string): boolean =>
  infoField(replication, 'role') === 'slave' && infoField(replication, 'slave_read_only') !== '0';

/** By the section `cluster`. */
export const isClusterNode = (cluster: string): boolean => infoField(cluster, 'cluster_enabled') === '1';
