package flight

import (
	"encoding/binary"
	"fmt"
)

// SettingsRow is what a flight file says of its recorder's [Settings].
type SettingsRow struct {
	Settings
	Known   bool  // files of version 1 do not tell
	Changed Ticks // when they were made so
}

// Settings returns what is recorded, with a setting in User for each kind of the program's own.
func (r *Reader) Settings() (SettingsRow, error) {
	r.mu.Lock()
	err := r.refreshLocked()
	h := r.mu.header.Settings
	r.mu.Unlock()
	if err != nil {
		return SettingsRow{}, fmt.Errorf("flight: read %s: %w", r.path, err)
	}
	if r.version.Load() == 1 {
		return SettingsRow{}, nil
	}
	s := SettingsRow{Known: h.Changed != 0, Changed: Ticks(h.Changed)}
	s.Name, s.CPUTime = r.rawString(StringID(h.Name)), h.Flags&settingsCPUTime != 0
	for k := range s.Kinds {
		s.Kinds[k] = h.Kinds[k].setting()
	}
	users, err := r.UserKinds()
	for _, u := range users {
		s.User = append(s.User, UserSetting{u.Name, u.Setting})
	}
	return s, err
}

// UserKinds returns the program's own kinds of events, in the order of their numbers. An error that matches [ErrIncomplete] means that some are missing.
func (r *Reader) UserKinds() ([]UserKindInfo, error) {
	segments, err := r.segmentsOf(segmentUserKind)
	if err != nil {
		return nil, err
	}
	var (
		kinds   []UserKindInfo
		missing []string
		still   = newPatience()
	)
	for ordinal, s := range segments {
		for i := 0; !s.bad && i < userKindsPerSegment; i++ {
			var b [userKindSize]byte
			if !r.copyStill(b[:], s.offset+uint64(i*userKindSize), still) {
				missing = append(missing, fmt.Sprintf("kind %d of the program's own could not be read", ordinal*userKindsPerSegment+i+1))
				continue
			}
			var rec userKindRecord
			if _, err := binary.Decode(b[:], binary.LittleEndian, &rec); err != nil || rec.Name == 0 {
				continue
			}
			k := UserKindInfo{Number: uint32(ordinal*userKindsPerSegment + i + 1), Name: r.rawString(StringID(rec.Name)), Setting: rec.Setting.setting()}
			for _, f := range rec.Field[:min(rec.Fields, maxUserFields)] {
				if f.At < maxUserWords && f.Use < uint16(FieldUseCount) {
					k.Fields = append(k.Fields, Field{r.rawString(StringID(f.Name)), AtMore + Place(f.At), FieldUse(f.Use)})
				}
			}
			kinds = append(kinds, k)
		}
	}
	return kinds, r.incomplete(missing...)
}
