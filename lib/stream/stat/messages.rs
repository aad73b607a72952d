//! Numbers of messages: by role and by channel, how many and how long.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Distribution, named};
use crate::error::Result;

/// The channels of an assistant that are counted here.
const REASONING: &str = "analysis";
const FINAL: &str = "final";

/// The lengths of messages by role and by channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Messages {
    pub roles: BTreeMap<String, Distribution>,
    /// The messages that have a channel.
    pub channels: BTreeMap<String, Distribution>,
}

/// The parts of a conversation that were found.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parts {
    pub reasoning: bool,
    pub answer: bool,
}

impl Messages {
    pub fn add(
        &mut self,
        (role, channel): (&str, Option<&str>),
        length: u64,
        parts: &mut Parts,
    ) -> Result<()> {
        named(&mut self.roles, "roles", role)?.add(length);
        if let Some(channel) = channel {
            named(&mut self.channels, "channels", channel)?.add(length);
            if role == "assistant" {
                parts.reasoning |= channel == REASONING;
                parts.answer |= channel == FINAL;
            }
        }
        Ok(())
    }

    pub fn merge(&mut self, other: Messages) -> Result<()> {
        for (role, lengths) in other.roles {
            named(&mut self.roles, "roles", &role)?.merge(lengths);
        }
        for (channel, lengths) in other.channels {
            named(&mut self.channels, "channels", &channel)?.merge(lengths);
        }
        Ok(())
    }
}
