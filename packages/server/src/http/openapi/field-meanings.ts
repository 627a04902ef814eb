/**
 * What the fields of the API mean. Type and bounds are in the schemas that check them; what a schema's own description
 * says ("a string of …") completes an error message, and is of little use to a reader on its own.
 */

/** A component of the description: what it is, and its fields by place (`ephemeral.locations`). */
export interface Meaning {
  readonly about: string;
  readonly fields?: Readonly<Record<string, string>>;
}

const message = 'Says what was done, and to which ID. For people: the text may change.';

const group = {
  id: 'The ID that the host gave the group.',
  name: 'What people call the group.',
  status: 'A `deleted` group is kept, but nobody can be present in it.',
  metadata:
    'Whatever the host wants to keep with the group. A write replaces the whole object; `{}` when never set.',
  members: 'IDs of the users who belong to the group.',
  connectedToMessenger:
    'Whether the group is connected to a workspace of an external messaging product. Read-only.',
};
const groupWrite = {
  ...group,
  name: 'What people call the group. Required when the group does not exist yet.',
  members:
    'All users who shall belong to the group: whoever is not in the list leaves it. Repeated IDs count once.',
};

const user = {
  id: 'The ID that the host gave the user.',
  name: 'What people call the user.',
  short_name: 'A shorter name, for narrow places.',
  email: 'Where e-mail reaches the user.',
  profile_picture_url: 'A picture of the user.',
  status: 'A `deleted` user is kept, but cannot be present or log in.',
  metadata:
    'Whatever the host wants to keep with the user. A write replaces the whole object; `{}` when never set.',
  created_at: 'When the user was created.',
  updated_at: 'When the user was last changed.',
};

const place = {
  groupID: 'The group in which the presence applies. Required, unless `organizationID` is there.',
  organizationID: 'The older name of `groupID`.',
  location: 'Where the user is.',
  exclusiveWithin:
    'A wider location, which `location` has every pair of: within it, the user is at this one place only.',
  durable: 'Keep it until it is replaced, with its time. False when absent.',
  absent: 'The user has left this location. Not together with `durable`. False when absent.',
};

const project = {
  id: 'Names the project in the claim `project_id` of its tokens.',
  name: 'For people.',
  created_at: 'When the project was created.',
  secret: "Signs the project's tokens. Shown only in this answer.",
};

export const MEANINGS: Readonly<Record<string, Meaning>> = {
  Id: { about: 'A partner-specific ID, chosen by the host. Compared by exact code points, case-sensitive.' },
  Name: { about: 'A name.' },
  Status: { about: 'Whether a user or group takes part (`active`), or is locked out and kept (`deleted`).' },
  Metadata: { about: 'Any key-value pairs, read back as written.' },
  Location: {
    about:
      'Where somebody can be: keys and values that the host chooses, such as a page and a paragraph. The order of keys never matters. A location *matches* another when it has every pair of it.',
  },
  Timestamp: { about: 'A time in ISO 8601, UTC.' },
  Error: {
    about: 'The body of every answer that is not a success.',
    fields: {
      error: 'What went wrong, for programs: these codes do not change.',
      message: 'What went wrong, for people: names the fields or IDs in question, and what is expected.',
    },
  },
  Done: {
    about: 'The answer of a write.',
    fields: { success: 'Always true: a failure has another body.', message },
  },
  Pagination: {
    about: 'Where a page stands in its list.',
    fields: {
      token:
        'Opaque. Pass it as `token` for the next page; null when nothing follows. Good for this list only.',
      total: 'How many entries the whole list has.',
    },
  },
  Group: { about: 'A group with its members.', fields: group },
  GroupEntry: { about: 'A group in a list, without its members.', fields: group },
  GroupWrite: {
    about: 'What to change of a group: a field that is not supplied keeps its value.',
    fields: groupWrite,
  },
  GroupItem: { about: 'A group of a batch.', fields: groupWrite },
  GroupCreation: {
    about: 'A group to create.',
    fields: { ...groupWrite, name: group.name },
  },
  UserGroupList: {
    about: "A page of a user's groups.",
    fields: {
      groups: 'In order of ID.',
      'groups.id': group.id,
      'groups.name': group.name,
      'groups.status': 'Deleted groups are listed too.',
      pagination: 'Where to go on.',
    },
  },
  Member: {
    about: 'A user as a member of a group.',
    fields: {
      id: user.id,
      name: `${user.name} Null when never set.`,
      email: `${user.email} Null when not set.`,
    },
  },
  MemberList: {
    about: "A page of a group's members.",
    fields: { users: 'In order of ID.', pagination: 'Where to go on.' },
  },
  MembersChange: {
    about: 'Whom to add and whom to remove. Nobody can be in both lists.',
    fields: {
      add: 'Users to add; who is a member already stays one.',
      remove: 'Users to remove; who is no member is passed over.',
    },
  },
  User: { about: 'A user.', fields: user },
  UserWrite: {
    about: 'What to change of a user: a field that is not supplied keeps its value.',
    fields: user,
  },
  UserItem: { about: 'A user of a batch, or one to create.', fields: user },
  UserList: {
    about: 'A page of users.',
    fields: { users: 'In order of ID.', pagination: 'Where to go on.' },
  },
  Preferences: {
    about: "One of a user's preferences.",
    fields: {
      notification_channels: 'Which channels notify the user.',
      'notification_channels.sendViaMessenger': 'Whether the messenger does.',
      'notification_channels.sendViaEmail': 'Whether e-mail does.',
    },
  },
  PreferenceWrite: {
    about: 'A preference to set.',
    fields: { key: 'Which preference. There is one.', value: 'The channels to change.' },
  },
  NotificationChannels: {
    about: 'Channels to switch: one that is not supplied keeps its value.',
    fields: {
      sendViaMessenger: 'Whether the messenger notifies the user.',
      sendViaEmail: 'Whether e-mail notifies the user.',
    },
  },
  PresenceWrite: { about: 'Where a user is, or has left.', fields: place },
  ClientPresenceWrite: {
    about: "Where the token's user is, or has left.",
    fields: { ...place, groupID: 'The group. Required where the token names none.' },
  },
  PresenceUpdate: {
    about: 'One of many presence updates.',
    fields: { userID: 'Whose presence it is.', ...place },
  },
  PresenceUpdates: { about: 'Presence updates of many users.', fields: { updates: 'Each on its own.' } },
  PresenceRefusal: {
    about: 'An update that was not applied.',
    fields: {
      index: 'Its place in the list, from 0.',
      userID: 'Whose presence it is.',
      error: 'Why, for programs: what the update alone would have been refused with.',
      message: 'Why, for people.',
    },
  },
  PresenceUpdatesDone: {
    about: 'What became of many presence updates.',
    fields: {
      success: 'Always true: a failure has another body.',
      message: 'Says how many were applied and refused. For people: the text may change.',
      updated: 'How many were applied.',
      refused: 'Those that were not, in order of the list.',
    },
  },
  Viewer: {
    about: 'Who is logged in, and where they may act.',
    fields: {
      user: "The token's user.",
      groups: "The user's active groups, in order of ID; where the token names one, that one only.",
      'groups.id': group.id,
      'groups.name': group.name,
    },
  },
  PresenceEntry: {
    about: 'Where one user is in one group.',
    fields: {
      id: user.id,
      ephemeral: 'Where the user is right now.',
      'ephemeral.locations': 'In no order; empty when nowhere.',
      durable: 'Where the user was set durably, most recently. Absent when nowhere.',
      'durable.location': 'The place.',
      'durable.timestamp': 'When it was set; later than those of the locations that were set before.',
    },
  },
  PresenceCount: { about: 'How many are present.', fields: { count: 'On all pages together.' } },
  PresenceList: {
    about: 'A page of the users present in a group.',
    fields: {
      users: 'In order of ID.',
      pagination: 'Where to go on.',
      'pagination.token':
        'Opaque. Pass it as `token`, with the same filter, for the next page; null when nothing follows.',
    },
  },
  Batch: {
    about: 'Users and groups to create or update, all or nothing.',
    fields: { users: 'Applied first, in order.', groups: 'Applied after the users, in order.' },
  },
  BatchDone: {
    about: 'What a batch did.',
    fields: {
      success: 'Always true: a failure has another body.',
      message,
      users: 'What became of the users.',
      groups: 'What became of the groups.',
    },
  },
  ChangeCounts: {
    about: "How many of a list's items were created, updated, or were so already.",
    fields: {
      created: 'How many did not exist.',
      updated: 'How many existed and changed.',
      unchanged: 'How many existed and were already as supplied.',
    },
  },
  Authorization: { about: 'What an access token is issued for.' },
  Authorized: {
    about: 'An access token.',
    fields: {
      access_token: 'Goes into the `Authorization` header after `Bearer`.',
      expires: 'From when on it is refused.',
    },
  },
  Project: { about: 'A project, without its secret.', fields: project },
  ProjectCreated: { about: 'A new project, with its secret.', fields: project },
  ProjectWrite: { about: 'A project as its customer sets it.', fields: project },
  SecretRotation: {
    about: 'How two secrets overlap.',
    fields: { overlap_seconds: 'How long the old secret stays good.' },
  },
  SecretRotated: {
    about: 'A new secret.',
    fields: {
      secret: project.secret,
      previous_valid_until: 'Until when tokens signed with the secret before are good.',
    },
  },
};
